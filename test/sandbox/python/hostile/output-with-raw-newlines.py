# expect: ^\[\{"a\\nb":"c\\n\{\}\\u0000"\}\]$
def transformEvent(event, metadata):
    return {"a\nb": "c\n{}\0"}
