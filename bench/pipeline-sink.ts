/** A receiver for bench/pipeline.ts: reads every body and answers 200. Prints its port. */
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    await request.arrayBuffer();
    return new Response();
  },
});
process.stdout.write(`${server.port}\n`);
