/**
 * Type of the libraries that stand in for RudderStack's own. They are imported as text
 * (`with { type: "text" }`), because they run in the contexts of programs.
 */
declare module "*.library.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a text module has no other export.
  export default text;
}
