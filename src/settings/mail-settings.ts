import { hostAndPort, oneOf, optionalText, secretText } from "./schema-types.ts";

/** Settings of the mail server that sends alerts by email, as a part of `configSchema`. */
export const mailSettings = {
  "smtp.server": optionalText("mail server that sends alerts by email", {
    reloadable: true,
    ...hostAndPort,
  }),
  "smtp.tls": oneOf(["starttls", "implicit", "none"], {
    reloadable: true,
    default: "starttls",
    description:
      "how the connection to the mail server is encrypted: starttls, implicit (from its beginning) or none",
  }),
  "smtp.ca": optionalText(
    "PEM file of the authorities that the mail server's certificate is signed by",
    { reloadable: true },
  ),
  "smtp.user": optionalText("name to sign in to the mail server", {
    reloadable: true,
    maxLength: 320,
  }),
  "smtp.password": secretText("password to sign in to the mail server", { reloadable: true }),
  "smtp.from": optionalText("address that alerts are sent from by email", {
    reloadable: true,
    pattern: "^[^ @<>]+@[^ @<>]+$",
    title: "an email address",
    maxLength: 320,
  }),
};
