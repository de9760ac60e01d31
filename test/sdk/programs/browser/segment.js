/* Segment's SDK for browsers, in a page. */

globalThis.openSdk = ({ address, writeKey, isBeacon }) => {
  const [protocol, host] = address.split("://");
  const batching = { strategy: "batching", config: { size: 10, timeout: 60_000 } };
  const analytics = globalThis.AnalyticsNext.AnalyticsBrowser.load(
    { writeKey, cdnURL: address },
    {
      integrations: {
        "Segment.io": {
          apiHost: `${host}/v1`,
          protocol,
          ...(isBeacon && { deliveryStrategy: batching }),
        },
      },
    },
  );
  globalThis.analytics = analytics;
  globalThis.loaded = analytics.then(() => {});
  globalThis.loaded.catch(() => {});
};
