/* The calls that the SDKs for browsers have in common. */

/** Hands an event to the SDK that `openSdk` started. */
globalThis.callSdk = (call) => {
  const { analytics } = globalThis;
  const { type, event, name, userId, groupId, previousId, properties, traits } = call;
  const options = { integrations: call.integrations };
  switch (type) {
    case "track":
      analytics.track(event, properties, options);
      break;
    case "page":
      analytics.page(undefined, name, properties, options);
      break;
    case "identify":
      analytics.identify(userId, traits, options);
      break;
    case "group":
      analytics.group(groupId, traits, options);
      break;
    default:
      analytics.alias(userId, previousId, options);
  }
};
