# expect: "started":\d|^Script crashed its guest
# in: unsealed
import typing

load = typing.sys.modules["importlib"].import_module


def transformEvent(event, metadata):
    function = load("pyodide_js").runPython.constructor
    told = event["canary"]
    started = 0
    for source in (
        f"void fetch('{told['url']}').catch(() => {{}})",
        f"void Bun.connect({{hostname: '127.0.0.1', port: {told['port']}, socket: {{data() {{}}}}}}).catch(() => {{}})",
        f"void new WebSocket('ws://127.0.0.1:{told['port']}/')",
        f"void process.getBuiltinModule('net').connect({told['port']}).on('error', () => {{}})",
        f"void Bun.udpSocket({{connect: {{hostname: '127.0.0.1', port: {told['port']}}}}}).catch(() => {{}})",
    ):
        try:
            function(source)()
            started += 1
        except Exception:
            pass
    return {"started": started}
