// Destinations that rudder-server delivers
/** Maximum size in bytes of the settings, as JSON, of a destination that rudder-server delivers. */
export const OPAQUE_CONFIG_BYTES_MAX = 65_536;
/** Maximum items of a list with secrets, such as headers, in settings for rudder-server. */
export const OPAQUE_SECRETS_MAX = 1_000;
/** Maximum number of destination definitions, and of source definitions, that are read. */
export const DEFINITIONS_MAX = 2_000;
/** Maximum size in bytes of one file of definitions. */
export const DEFINITION_BYTES_MAX = 1_048_576;
