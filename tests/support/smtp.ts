import type { Socket } from "node:net";
import { startSocketServer, type Upstream } from "./upstream.ts";

/** A mail as a server received it. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body, without the dots that SMTP adds. */
  data: string;
}

/** A mail server that records what it receives. */
export interface MailServer extends Upstream {
  readonly mails: ReceivedMail[];
  /** Answers to commands, by their first word, instead of success. Null: no answer at all. */
  readonly answers: Map<string, string | null>;
}

/** The commands of one connection (RFC 5321). */
function serve(socket: Socket, { mails, answers }: Pick<MailServer, "mails" | "answers">): void {
  let mail: ReceivedMail = { from: "", to: [], data: "" };
  let isData = false;
  let rest = "";
  const reply = (word: string, usual: string) => {
    const answer = answers.get(word);
    if (answer !== null) socket.write(`${answer ?? usual}\r\n`);
  };
  const readCommand = (line: string) => {
    const [, word = ""] = /^([A-Za-z]+)/.exec(line) ?? [];
    const address = /<([^>]*)>/.exec(line)?.[1] ?? "";
    if (word === "EHLO") return reply(word, "250-mail.test\r\n250 8BITMIME");
    if (word === "QUIT") return socket.end("221 bye\r\n");
    if (word === "MAIL") mail = { from: address, to: [], data: "" };
    if (word === "RCPT") {
      const isRefused = answers.has(address);
      if (!isRefused) mail.to.push(address);
      return reply(isRefused ? address : word, "250 ok");
    }
    if (word === "DATA") {
      isData = true;
      return reply(word, "354 go on");
    }
    reply(word, word === "MAIL" || word === "RSET" ? "250 ok" : "502 not implemented");
  };
  const readData = (line: string) => {
    if (line !== ".") {
      mail.data += `${line.replace(/^\./, "")}\n`;
      return;
    }
    isData = false;
    mails.push(mail);
    reply("accepted", "250 accepted");
  };
  socket.setEncoding("utf8");
  socket.on("data", (text) => {
    const lines = (rest + text).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines)
      if (isData) readData(line);
      else readCommand(line);
  });
  reply("greeting", "220 mail.test ESMTP");
}

/** A mail server on loopback, without encryption. */
export async function startMailServer(): Promise<MailServer> {
  const parts = { mails: [] as ReceivedMail[], answers: new Map<string, string | null>() };
  return Object.assign(await startSocketServer((socket) => serve(socket, parts)), parts);
}

/** The text of a mail, with quoted-printable decoded (RFC 2045, section 6.7). */
export function textOf({ data }: ReceivedMail): string {
  const body = data.slice(data.indexOf("\n\n") + 2).replaceAll("=\n", "");
  if (!/^content-transfer-encoding: quoted-printable$/im.test(data)) return body;
  const bytes = body.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}

/** A header of a mail, unfolded; undefined where it is absent. */
export function headerOf({ data }: ReceivedMail, name: string): string | undefined {
  const head = data.slice(0, data.indexOf("\n\n")).replace(/\n[ \t]+/g, " ");
  return new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1];
}
