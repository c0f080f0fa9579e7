import type { SendMail } from "../control/alerts/messages.ts";
import type { MailSettings } from "../settings.ts";

/** Time limits in milliseconds: for each step with the server, and for the whole mail. */
const stepMs = 10_000;
const mailMs = 30_000;

/** Rejects when the signal aborts or the time is over; `end` stops waiting for that. */
function createDeadline(signal: AbortSignal): { passed: Promise<never>; end(): void } {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  const timer = setTimeout(() => reject(new Error("the mail server did not respond in time")), mailMs);
  signal.addEventListener("abort", abort, { once: true });
  return {
    passed,
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    },
  };
}

/**
 * Sends mails over SMTP, each over its own connection. The library is loaded with the first mail. The recipients do not see
 * each other. Certificates are always verified.
 */
export function createMailer({ host, port, isImplicitTls, allowsClearText, login, from }: MailSettings): SendMail {
  return async ({ to, subject, text }, signal) => {
    const { createTransport } = await import("nodemailer");
    signal.throwIfAborted();
    const transport = createTransport({
      host,
      port,
      secure: isImplicitTls,
      requireTLS: !allowsClearText,
      ...(login && { auth: { user: login.user, pass: login.password } }),
      connectionTimeout: stepMs,
      greetingTimeout: stepMs,
      socketTimeout: stepMs,
      dnsTimeout: stepMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const deadline = createDeadline(signal);
    const sent = transport.sendMail({
      from,
      to: "undisclosed-recipients:;",
      subject,
      text,
      envelope: { from: from.address, to: [...to] },
      // RFC 3834, section 5: nobody answers it automatically
      headers: { "auto-submitted": "auto-generated" },
    });
    try {
      const { rejected } = await Promise.race([sent, deadline.passed]);
      return rejected?.length ?? 0;
    } finally {
      deadline.end();
      sent.catch(() => {}); // it may fail after the deadline
      transport.close();
    }
  };
}
