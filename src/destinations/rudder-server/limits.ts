// Destinations that rudder-server delivers
/** Maximum size of the settings of a destination that rudder-server delivers, as JSON. */
export const OPAQUE_CONFIG_BYTES_MAX = 65_536;
/** Maximum number of items in a list of such settings that has secrets, such as headers. */
export const OPAQUE_SECRETS_MAX = 1_000;
/** Maximum number of definitions of destinations, and of sources, that the server reads. */
export const DEFINITIONS_MAX = 2_000;
/** Maximum size of one file of definitions. */
export const DEFINITION_BYTES_MAX = 1_048_576;
