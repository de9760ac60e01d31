/** The least that Bun can do for a pixel: the same GIF, no look at the query, nothing kept. */
const gif = Buffer.from("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");
const headers = { "content-type": "image/gif", "cache-control": "no-store" };

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(gif, { headers }),
});
process.stdout.write(`${server.port}\n`);
