import { requireSdk, run } from "./protocol.mjs";

const { Analytics } = requireSdk("@segment/analytics-node");

run(({ address, writeKey }) => {
  const analytics = new Analytics({ host: address, writeKey, flushInterval: 200 });
  return ({ type, ...event }, done) => analytics[type](event, (error) => done(error));
});
