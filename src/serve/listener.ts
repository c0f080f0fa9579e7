/** Where to serve. */
export interface ListenOptions {
  hostname: string;
  /** Zero takes any free one. */
  port: number;
  maxBodyBytes: number;
}

/** A server that is listening. */
export interface Listener {
  readonly port: number;
  /** Takes no new connections. */
  stop(): void;
  /** Ends every connection. */
  close(): Promise<void>;
}
