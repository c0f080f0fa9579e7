import assert from "node:assert/strict";
import { test } from "node:test";
import type { Mail } from "../../src/control/alerts/messages.ts";
import { createMailer } from "../../src/serve/mailer.ts";
import {
  type AlertingGateway,
  ask,
  createBudgetKey,
  listAuditedAlerts,
  startReceiver,
  useUp,
  withAlerts,
} from "../support/alerts.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { adminKey, type TestGateway } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { headerOf, type MailServer, startMailServer, textOf } from "../support/smtp.ts";
import { eventually } from "../support/upstream.ts";

const from = { name: "Gateway", address: "gateway@example.com" };

/** A sender that leads to a mail server of the test. */
const sendTo = ({ port }: MailServer) =>
  createMailer({ host: "127.0.0.1", port, isImplicitTls: false, allowsClearText: true, from });

/** Runs a test with a gateway that mails its alerts. */
async function withMails(use: (parts: AlertingGateway, server: MailServer) => Promise<void>): Promise<void> {
  const server = await startMailServer();
  try {
    await withAlerts(async (start) => {
      await use(await start({ inFile: true, alerts: { sendMail: sendTo(server) } }), server);
    });
  } finally {
    await server.close();
  }
}

/**
 * Users of the organisation: two administrators beside the first owner, who has no usable address, and three users of the
 * default workspace.
 */
async function addPeople({ gateway, workspaceId }: AlertingGateway) {
  await addPerson(gateway, "second@example.com", { role: "admin" });
  await addPerson(gateway, "admin@example.com", { role: "admin" });
  const join = (email: string, role: string, more = {}) =>
    addPerson(gateway, email, { workspaces: [{ id: workspaceId, role }], ...more });
  await join("manager@example.com", "manager");
  await join("member@example.com", "member");
  return join("user@example.com", "member", { scopes: ["completions.write"] });
}

/** Waits for the next mail, whose recipients may have got one a moment ago. */
async function nextMail({ clock }: AlertingGateway, server: MailServer) {
  const before = server.mails.length;
  const until = performance.now() + 10_000;
  while (server.mails.length === before && performance.now() < until) {
    clock.advance(60_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return server.mails[before] ?? assert.fail("no mail came");
}

test("the alert of a key goes to administrators, to its owner and to its addresses", () =>
  withMails(async (parts, server) => {
    const user = await addPeople(parts);
    const { gateway } = parts;
    const body = {
      usage_limits: { type: "tokens", credit_limit: 1_500 },
      alert_emails: ["ops@example.com", "admin@example.com"],
    };
    await done(call(gateway, `PUT /api-keys/${user.keyId}`, { body }));
    await useUp(parts, user.key);
    await eventually(() => server.mails.length === 1, "the mail");
    const [mail] = server.mails;
    assert.ok(mail);
    const wanted = ["admin@example.com", "ops@example.com", "second@example.com", "user@example.com"];
    assert.deepEqual(mail.to, wanted);
    assert.match(headerOf(mail, "To") ?? "", /^"?undisclosed-recipients"?:;$/);
    const text = textOf(mail);
    assert.match(headerOf(mail, "Subject") ?? "", /^The budget of API key .* is used up: 1500 tokens$/);
    assert.match(
      text,
      /^Organisation: default\n\nThe budget of API key .* is used up: 1500 tokens\n {2}Used: 1500 tokens\n/,
    );
  }));

test("the alert of a workspace goes to administrators and to managers of the workspace", () =>
  withMails(async (parts, server) => {
    const { gateway, workspaceId } = parts;
    await addPeople(parts);
    const other = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
    await addPerson(gateway, "elsewhere@example.com", { workspaces: [{ id: other.id, role: "manager" }] });
    const budget = { usage_limits: [{ type: "tokens", credit_limit: 3_000, alert_threshold: 1_000 }] };
    await done(call(gateway, "PUT /admin/workspaces/default", { body: budget }));
    const { key } = await createBudgetKey(parts, {}, { usage_limits: null });
    assert.equal(await ask(parts, key), 200);
    await eventually(() => server.mails.length === 1, "the mail");
    const [mail] = server.mails;
    assert.ok(mail);
    assert.deepEqual(mail.to, ["admin@example.com", "manager@example.com", "second@example.com"]);
    assert.equal(
      headerOf(mail, "Subject"),
      "The budget of workspace default has reached its threshold: 1000 tokens of 3000 tokens",
    );
    assert.match(textOf(mail), new RegExp(`\n {2}Workspace: ${workspaceId}\n`));
  }));

test("alerts with the same recipients that come within a minute share a mail", () =>
  withMails(async (parts, server) => {
    await addPerson(parts.gateway, "second@example.com", { role: "admin" });
    const keys = await Promise.all([1, 2, 3, 4].map(() => createBudgetKey(parts, { credit_limit: 1_500 })));
    for (const { key } of keys) await useUp(parts, key);
    await eventually(() => server.mails.length === 1 && parts.lines.length === 4, "the first mail");
    const second = await nextMail(parts, server);
    assert.equal(headerOf(second, "Subject"), "3 alerts of budgets");
    assert.equal(textOf(second).split("is used up").length, 4);
    assert.deepEqual(second.to, ["second@example.com"]);
  }));

test("removed users get no mail, and names cannot add lines", () =>
  withMails(async (parts, server) => {
    const { gateway } = parts;
    await addPerson(gateway, "second@example.com", { role: "admin" });
    const gone = await addPerson(gateway, "gone@example.com", { role: "admin" });
    await done(call(gateway, `DELETE /admin/users/${gone.id}`));
    const name = "App\r\nBcc: thief@example.com\u2028\u202eevil";
    const { key } = await createBudgetKey(parts, { credit_limit: 1_500 }, { name });
    await useUp(parts, key);
    await eventually(() => server.mails.length === 1, "the mail");
    const [mail] = server.mails;
    assert.ok(mail);
    assert.deepEqual(mail.to, ["second@example.com"]);
    assert.equal(headerOf(mail, "Bcc"), undefined);
    assert.equal(
      headerOf(mail, "Subject"),
      "The budget of API key App Bcc: thief@example.com evil is used up: 1500 tokens",
    );
    assert.doesNotMatch(textOf(mail), /^Bcc/m);
  }));

test("a mail server that fails is tried again, and the webhook is not called again for it", () =>
  withAlerts(async (start) => {
    const receiver = await startReceiver();
    const server = await startMailServer();
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url }, sendMail: sendTo(server) } });
      await addPerson(parts.gateway, "second@example.com", { role: "admin" });
      server.answers.set("accepted", "451 4.3.0 try again\u0007 later");
      const { key } = await createBudgetKey(parts, { credit_limit: 1_500 });
      await useUp(parts, key);
      await eventually(() => parts.gateway.warnings.length === 1, "the first attempt");
      assert.match(
        parts.gateway.warnings[0] ?? "",
        /^Cannot mail alerts of organisation .*451 4\.3\.0 try again later$/,
      );
      await eventually(() => receiver.requests.length === 1, "the webhook");
      server.answers.clear();
      const { length } = server.mails;
      await nextMail(parts, server);
      assert.equal(server.mails.length, length + 1);
      assert.equal(receiver.requests.length, 1);
    } finally {
      await server.close();
      await receiver.close();
    }
  }));

/** Changes settings of the organisation of a key. */
async function putSettings(gateway: TestGateway, key: string, body: object): Promise<void> {
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self", { key }));
  await done(call(gateway, `PUT /organisations/${data.id}`, { key, body }));
}

test("no organisation receives anything of another one", async () => {
  const mails: Mail[] = [];
  const sendMail = async (mail: Mail) => {
    mails.push(mail);
    return 0;
  };
  const [mine, theirs] = [await startReceiver(), await startReceiver()];
  try {
    await withAlerts(async (start) => {
      const parts = await start({ inFile: true, alerts: { sendMail } });
      const { gateway } = parts;
      const other = await createOrganisation(await gateway.openFile(), "other");
      parts.clock.advance(60_000); // keys of no usual form are read once a minute
      await putSettings(gateway, adminKey, { alert_webhook: `${mine.url}/mine` });
      await putSettings(gateway, other.adminKey, { settings: { alert_webhook: `${theirs.url}/theirs` } });
      await addPerson(gateway, "admin@mine.example.com", { role: "admin" });
      await addPerson(gateway, "admin@theirs.example.com", { role: "admin", key: other.adminKey });
      const first = await createBudgetKey(parts, { credit_limit: 1_500 }, { name: "Mine" });
      const second = await createBudgetKey(parts, { credit_limit: 1_500 }, { name: "Theirs" }, other);
      await Promise.all([useUp(parts, first.key), useUp(parts, second.key)]);
      await eventually(() => mine.requests.length + theirs.requests.length === 2, "both calls");
      await eventually(() => mails.length === 2, "both mails");
      for (const [receiver, own, foreign, path] of [
        [mine, first, second, "/mine"],
        [theirs, second, first, "/theirs"],
      ] as const) {
        assert.deepEqual(
          receiver.requests.map((request) => request.path),
          [path],
        );
        assert.match(receiver.requests[0]?.text ?? "", new RegExp(own.id));
        assert.doesNotMatch(receiver.requests[0]?.text ?? "", new RegExp(foreign.id));
      }
      const shown = mails.map(({ to, text }) => `${to.join()} ${/API key (\w+)/.exec(text)?.[1]}`);
      assert.deepEqual(shown.sort(), ["admin@mine.example.com Mine", "admin@theirs.example.com Theirs"]);
      const audited = await listAuditedAlerts(gateway);
      assert.deepEqual(
        audited.map(({ resource_id }) => resource_id),
        [first.id],
      );
    });
  } finally {
    await mine.close();
    await theirs.close();
  }
});
