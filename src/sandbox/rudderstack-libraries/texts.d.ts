/**
 * Type of the files `*.library.js`, which replace RudderStack's own libraries. They are imported as
 * text (`with { type: "text" }`), because guest processes run them, not the server.
 */
declare module "*.library.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a text module has no other export.
  export default text;
}
