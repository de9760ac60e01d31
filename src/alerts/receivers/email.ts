import { domainToASCII } from "node:url";
import type { Transporter } from "nodemailer";
import type { AlertReceiver, NotificationResult } from "../../catalog/alerts/model.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import { type Egress, networkReason } from "../../egress/egress.ts";
import { failureText } from "../../errors.ts";
import { ALERT_SEND_MS_MAX } from "../../settings/limits.ts";
import type { AlertMessage } from "./message.ts";

/** The operator's mail server, through which alerts are sent by email. */
export interface MailServer {
  host: string;
  port: number;
  /**
   * How the connection is encrypted: with TLS from its beginning (`implicit`), with TLS after
   * STARTTLS, or not at all.
   */
  tls: "implicit" | "starttls" | "none";
  user?: string;
  password?: string;
  from: string;
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string;
}

/**
 * Sends a notification by email through the operator's mail server. Never rejects. If the mail
 * server refuses some addresses, the result names the addresses that the mail server accepted.
 */
export async function sendByEmail(
  egress: Egress,
  server: MailServer,
  receiver: AlertReceiver,
  message: AlertMessage,
  signal: AbortSignal,
): Promise<NotificationResult> {
  const { from } = server;
  const domain = from.slice(from.lastIndexOf("@") + 1);
  const id = (key: string) => `<${key}@${domain}>`;
  const { to = [] } = receiver;
  let accepted: string[] = [];
  const request = { workspaceId: receiver.workspaceId, signal };
  const reason = await withTransport(egress, server, request, async (transport) => {
    const answer = await transport.sendMail({
      from,
      to: to.map((address) => ({ name: "", address })),
      subject: message.title,
      text: `${message.text}\n\n${message.url}\n`,
      messageId: id(message.id),
      ...(message.phase === "end" && { references: id(message.id.replace("-end-", "-begin-")) }),
      headers: { "Auto-Submitted": "auto-generated" },
    });
    if ((answer.rejected ?? []).length === 0) return undefined;
    const taken = new Set((answer.accepted ?? []).map((it) => `${it}`.toLowerCase()));
    accepted = to.filter((address) => taken.has(sentAddress(address)));
    return "The mail server refused an address of the receiver";
  });
  return reason === undefined ? { kind: "sent" } : { kind: "retry", reason, accepted };
}

/**
 * Returns an address in a form that can be compared with the addresses in the mail library's
 * results: the domain in ASCII, and all letters in lower case.
 */
function sentAddress(address: string): string {
  const domain = address.lastIndexOf("@") + 1;
  return (address.slice(0, domain) + domainToASCII(address.slice(domain))).toLowerCase();
}

/**
 * Signs in to the mail server without sending a mail. Resolves with undefined if the sign-in
 * succeeded, otherwise with a sentence about the failure.
 */
export async function verifyMailServer(
  egress: Egress,
  server: MailServer,
): Promise<string | undefined> {
  const request = { workspaceId: "", signal: new AbortController().signal };
  return await withTransport(egress, server, request, async (transport) => {
    await transport.verify();
    return undefined;
  });
}

/**
 * Calls `work` with a connection to the mail server, and closes the connection afterwards. Resolves
 * with undefined on success, otherwise with a sentence about the failure. Never rejects.
 */
async function withTransport(
  egress: Egress,
  server: MailServer,
  { workspaceId, signal }: { workspaceId: string; signal: AbortSignal },
  work: (transport: Transporter) => Promise<string | undefined>,
): Promise<string | undefined> {
  const { host, port, tls, user, password, ca } = server;
  const late = AbortSignal.any([signal, AbortSignal.timeout(ALERT_SEND_MS_MAX)]);
  try {
    using stack = new DisposableStack();
    const connection = await egress.connect({
      workspaceId,
      host,
      port,
      ...(tls === "implicit" && { tls: { ca } }),
      timeoutMs: ALERT_SEND_MS_MAX,
      signal: late,
    });
    stack.defer(() => connection.destroy());
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      host,
      port,
      connection,
      secured: tls === "implicit",
      requireTLS: tls === "starttls",
      ignoreTLS: tls === "none",
      tls: { servername: host, ...(ca !== undefined && { ca }) },
      ...(user !== undefined && password !== undefined && { auth: { user, pass: password } }),
      disableFileAccess: true,
      disableUrlAccess: true,
      greetingTimeout: ALERT_SEND_MS_MAX,
      socketTimeout: ALERT_SEND_MS_MAX,
    });
    late.throwIfAborted();
    // The library notices a socket that is closed early only after `greetingTimeout`.
    return await unlessAborted(work(transport), late);
  } catch (error) {
    return mailReason(error, late);
  }
}

/**
 * Returns a sentence that says why a mail could not be sent: a timeout if `late` is aborted. The
 * sentence contains neither the mail server's text nor its address, because members of any
 * workspace can read it.
 */
function mailReason(error: unknown, late: AbortSignal): string {
  const { code, originalCode, command, response, responseCode, message } = error as MailError;
  if (late.aborted) return "The mail server did not answer in time";
  if (code === "EAUTH") return "The mail server refused the user or the password (smtp.user)";
  if (responseCode !== undefined) return `The mail server answered ${responseCode}`;
  if (response !== undefined) return "The mail server's answer is not one of SMTP";
  const words = ["The connection to the mail server failed", "The mail server's"] as const;
  if (originalCode !== undefined) return failureText(originalCode, ...words);
  // The library's sentences have names of hosts only after a colon.
  return command === undefined ? networkReason(error, ...words) : message.split(":", 1)[0]!;
}

/**
 * Error that the mail library throws. `code` is the library's error code. `originalCode` is the
 * operating system's error code, if there is one.
 */
type MailError = Error & {
  code?: string;
  originalCode?: string;
  /** Step of the SMTP exchange at which the error occurred. */
  command?: string;
  response?: string;
  responseCode?: number;
};
