import { optionalText } from "./schema-types.ts";

/** Settings of TLS on all listeners, as a part of `configSchema`. */
export const tlsSettings = {
  "tls.certificate": pemFile("certificate of the data plane, and of the authorities between"),
  "tls.key": pemFile("private key of that certificate; with it the data plane speaks TLS alone"),
  "admin.tls.certificate": pemFile(
    "certificate of the control plane, and of the authorities between",
  ),
  "admin.tls.key": pemFile(
    "private key of that certificate; with it the control plane speaks TLS alone",
  ),
  "admin.tls.clients": pemFile(
    "authorities that clients' certificates must be signed by; without it none is asked for",
  ),
  "transformer.tls.certificate": pemFile(
    "certificate of the listener for rudder-server, and of the authorities between",
  ),
  "transformer.tls.key": pemFile(
    "private key of that certificate; with it that listener speaks TLS alone",
  ),
};

function pemFile(content: string) {
  return optionalText(`PEM file with the ${content}`, { reloadable: "when set" });
}
