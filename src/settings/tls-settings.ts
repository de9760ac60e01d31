import { Type } from "@sinclair/typebox";

/** Settings of TLS on both planes, as a part of `configSchema`. */
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
};

function pemFile(content: string) {
  return Type.Optional(
    Type.String({
      minLength: 1,
      reloadable: "when set",
      description: `PEM file with the ${content}`,
    }),
  );
}
