# expect: ^\[\{"n":1,
import json


def refuse(*arguments, **named):
    return '{"forged": true}'


json.dumps = json.loads = json.JSONEncoder.encode = json.JSONDecoder.decode = refuse
json.encoder.c_make_encoder = json.decoder.scanstring = refuse


def transformEvent(event, metadata):
    return event
