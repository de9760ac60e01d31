/** Lets scripts import style sheets. The bundler writes them to a file beside the script. */
declare module "*.css";
