/** Makes a key and a self-signed certificate for the name "a", both as PEM. Needs openssl. */
export function newKeys() {
  const request =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=a -keyout -";
  const pems = Bun.spawnSync(request.split(" "), { stderr: "ignore" }).stdout.toString();
  const [key = "", cert = ""] = pems.split(/(?=-----BEGIN CERTIFICATE)/);
  return { key, cert };
}
