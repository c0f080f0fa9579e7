import { connect } from "node:net";

/** A client that sends a request and reads the response only on demand. */
export interface SlowReader {
  /** Reads until its text contains something so many times; returns all that it read. */
  readUntil(count: number, pattern: RegExp): Promise<string>;
  close(): void;
}

/** Opens a connection and asks for a path, without reading the response. */
export async function openSlowReader(address: string, path: string, key: string): Promise<SlowReader> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.pause();
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nx-gateway-api-key: ${key}\r\n\r\n`);
  const decoder = new TextDecoder();
  let [text, found, searched] = ["", 0, 0];
  return {
    readUntil(count, pattern) {
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${found} of ${count} after a minute`)), 60_000);
        const look = () => {
          // a match lies on one line
          const end = text.lastIndexOf("\n") + 1;
          found += [...text.slice(searched, end).matchAll(pattern)].length;
          searched = end;
          if (found < count) return;
          clearTimeout(late);
          resolve(text);
        };
        socket.on("data", (bytes) => {
          text += decoder.decode(bytes, { stream: true });
          look();
        });
        socket.once("close", () => reject(new Error(`The connection ended: ${found} of ${count}`)));
        socket.resume();
      });
    },
    close: () => void socket.destroy(),
  };
}
