/** A file that the configuration comes from. */
export interface DeclaredIn {
  /** Its name, for messages. */
  readonly file: string;
  /** Kinds of record that it declares, as the audit log names them. */
  readonly resources: ReadonlySet<string>;
}
