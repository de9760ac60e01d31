/**
 * Bare Bun server that inflates and parses the JSON of each request's body, and stores nothing: the
 * lower bound for a server that has a use for the events.
 */
const answer = { headers: { "Content-Type": "application/json" } };
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const body = new Uint8Array(await request.arrayBuffer());
    const isGzip = request.headers.get("content-encoding") === "gzip";
    const json = isGzip ? Bun.gunzipSync(body) : body;
    const { batch } = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.length).toString());
    if (!Array.isArray(batch)) return new Response("{}", { ...answer, status: 400 });
    return new Response('{"success":true}', answer);
  },
});
process.stdout.write(`${server.port}\n`);
