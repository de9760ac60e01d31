declare module "*.md" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: the form of a text import
  export default text;
}

declare module "*/guide.css" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: the form of a text import
  export default text;
}
