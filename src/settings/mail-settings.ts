import { Type } from "@sinclair/typebox";

/** Settings of the mail server that sends alerts by e-mail, as a part of `configSchema`. */
export const mailSettings = {
  "smtp.server": Type.Optional(
    Type.String({
      reloadable: true,
      pattern: "^([A-Za-z0-9._-]{1,253}|\\[[0-9a-fA-F:.]{2,45}\\]):[1-9][0-9]{0,4}$",
      title: "HOST:PORT",
      description: "mail server that sends alerts by e-mail",
    }),
  ),
  "smtp.tls": Type.Union(
    (["starttls", "implicit", "none"] as const).map((it) => Type.Literal(it)),
    {
      reloadable: true,
      default: "starttls",
      description:
        "how the connection to the mail server is encrypted: starttls, implicit (from its beginning) or none",
    },
  ),
  "smtp.ca": Type.Optional(
    Type.String({
      reloadable: true,
      minLength: 1,
      description: "PEM file of the authorities that the mail server's certificate is signed by",
    }),
  ),
  "smtp.user": Type.Optional(
    Type.String({
      reloadable: true,
      minLength: 1,
      maxLength: 320,
      description: "name to sign in to the mail server",
    }),
  ),
  "smtp.password": Type.Optional(
    Type.String({
      reloadable: true,
      minLength: 1,
      maxLength: 1_024,
      writeOnly: true,
      description: "password to sign in to the mail server",
    }),
  ),
  "smtp.from": Type.Optional(
    Type.String({
      reloadable: true,
      pattern: "^[^ @<>]+@[^ @<>]+$",
      title: "an e-mail address",
      maxLength: 320,
      description: "address that alerts are sent from by e-mail",
    }),
  ),
};
