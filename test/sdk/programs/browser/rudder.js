/* RudderStack's SDKs for browsers, versions 3 and 1.1, in a page. */

globalThis.openSdk = ({ address, writeKey, isBeacon }) => {
  const { RudderAnalytics } = globalThis.rudderanalytics;
  const analytics = RudderAnalytics ? new RudderAnalytics() : globalThis.rudderanalytics;
  globalThis.analytics = analytics;
  globalThis.loaded = new Promise((onLoaded) => {
    analytics.load(writeKey, address, {
      configUrl: address,
      useBeacon: isBeacon,
      queueOptions: { minRetryDelay: 200 },
      onLoaded: () => onLoaded(),
    });
  });
};
