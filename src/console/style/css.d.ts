/** Lets scripts import style sheets. The bundler emits the imported sheets beside the script. */
declare module "*.css";
