import assert from "node:assert/strict";
import { test } from "node:test";
import { createMailer } from "../../src/serve/mailer.ts";
import type { MailSettings } from "../../src/settings.ts";
import { headerOf, type MailServer, startMailServer, textOf } from "../support/smtp.ts";

const never = new AbortController().signal;

/** Runs a test with a mail server, and the settings that lead to it. */
async function withServer(use: (server: MailServer, settings: MailSettings) => Promise<void>): Promise<void> {
  const server = await startMailServer();
  const from = { name: "Gateway", address: "gateway@example.com" };
  try {
    await use(server, { host: "127.0.0.1", port: server.port, isImplicitTls: false, allowsClearText: true, from });
  } finally {
    await server.close();
  }
}

test("a mailer sends one mail to all recipients, who do not see each other", () =>
  withServer(async (server, settings) => {
    const mail = { to: ["one@example.com", "two@example.com"], subject: "A subject", text: "First line\n.\nÜber ✓\n" };
    assert.equal(await createMailer(settings)(mail, never), 0);
    const [received, ...others] = server.mails;
    assert.ok(received && others.length === 0);
    assert.deepEqual([received.from, received.to], ["gateway@example.com", mail.to]);
    assert.equal(headerOf(received, "From"), "Gateway <gateway@example.com>");
    assert.equal(headerOf(received, "Subject"), "A subject");
    assert.equal(headerOf(received, "Auto-Submitted"), "auto-generated");
    assert.doesNotMatch(received.data, /one@example\.com|two@example\.com/);
    assert.equal(textOf(received).trimEnd(), "First line\n.\nÜber ✓");
  }));

test("nothing in a subject or an address adds a header or a recipient", () =>
  withServer(async (server, settings) => {
    const subject = "Alert\r\nBcc: thief@example.com\r\n\r\nA body";
    await createMailer(settings)({ to: ["one@example.com"], subject, text: "Text" }, never);
    const [received] = server.mails;
    assert.ok(received);
    assert.deepEqual(received.to, ["one@example.com"]);
    assert.equal(headerOf(received, "Bcc"), undefined);
    assert.equal(textOf(received).trim(), "Text");
  }));

test("a mailer returns how many addresses the server refused, and fails if it refused all", () =>
  withServer(async (server, settings) => {
    server.answers.set("gone@example.com", "550 no such user");
    const send = (...to: string[]) => createMailer(settings)({ to, subject: "s", text: "t" }, never);
    assert.equal(await send("gone@example.com", "one@example.com"), 1);
    assert.deepEqual(server.mails[0]?.to, ["one@example.com"]);
    await assert.rejects(send("gone@example.com"), /550 no such user/);
  }));

test("a mailer fails if the server refuses the mail, or when its caller stops waiting", () =>
  withServer(async (server, settings) => {
    const mail = { to: ["one@example.com"], subject: "s", text: "t" };
    server.answers.set("accepted", "451 try again later");
    await assert.rejects(createMailer(settings)(mail, never), /451/);
    server.answers.set("greeting", null);
    const stop = new AbortController();
    const sending = createMailer(settings)(mail, stop.signal);
    stop.abort(new Error("the gateway closes"));
    await assert.rejects(sending, /the gateway closes/);
    await assert.rejects(createMailer(settings)(mail, stop.signal), /the gateway closes/);
  }));

test("credentials are not sent to a server that offers no encryption", () =>
  withServer(async (server, settings) => {
    const login = { user: "someone", password: "an-obvious-fake-password" };
    const mailer = createMailer({ ...settings, allowsClearText: false, login });
    await assert.rejects(mailer({ to: ["one@example.com"], subject: "s", text: "t" }, never), /STARTTLS|TLS/);
    assert.deepEqual(server.mails, []);
  }));
