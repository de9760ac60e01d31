import { requireSdk, run } from "./protocol.mjs";

const Analytics = requireSdk("@rudderstack/rudder-sdk-node");

run(({ address, writeKey }) => {
  const analytics = new Analytics(writeKey, {
    dataPlaneUrl: address,
    flushInterval: 200,
    // By default the SDK gives up after 3 retries, which is 1.4 seconds.
    retryCount: 12,
    errorHandler: () => {},
    logLevel: "silly",
  });
  return ({ type, ...event }, done) => analytics[type](event, (error) => done(error?.message));
});
