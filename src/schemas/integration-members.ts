import * as v from "valibot";

/** One member of an integration's `configurations`, by its path. */
export interface ConfigurationMember {
  schema: v.GenericSchema;
  /** It is sealed and shown masked. */
  secret?: true;
  /** It says where requests go. */
  shapesAddress?: true;
  /** It is an address the gateway will call: a base that paths are appended to, or a whole URL. */
  address?: "base" | "url";
}

/** What integrations of one provider take in `configurations`, besides what every integration may have. */
export interface IntegrationForm {
  members: Readonly<Record<string, ConfigurationMember>>;
  /** Paths that must be there; `key` is the integration's key. */
  required: readonly string[];
  /** What is required further, by the value of one member; `absent` where it is not there. */
  choice?: {
    member: string;
    required: Readonly<Record<string, readonly string[]>>;
    absent: readonly string[];
  };
}

/** A text that is not empty. */
export const PlainText = v.pipe(
  v.string("must be a text"),
  v.minLength(1, "must not be empty"),
  v.check((value) => !value.includes("\0"), "must not hold the character U+0000"),
);

const text = (maximum: number) => v.pipe(PlainText, v.maxLength(maximum, `must have at most ${maximum} characters`));

const plain: ConfigurationMember = { schema: text(1024) };

/** What every integration may have, whatever its provider. Header values below `custom_headers` have rules of their own. */
export const commonMembers: Readonly<Record<string, ConfigurationMember>> = {
  custom_host: { schema: text(2048), address: "base" },
  "oauth.token_url": { schema: text(2048), address: "url" },
  "oauth.client_id": plain,
  "oauth.client_secret": { schema: text(16_384), secret: true },
  "oauth.scope": plain,
  "oauth.audience": plain,
  "oauth.auth_method": { schema: v.picklist(["basic", "post"], "must be one of basic, post") },
};

/** Members of `oauth` without which the others are no use. */
export const requiredOfOauth: readonly string[] = ["oauth.token_url", "oauth.client_id", "oauth.client_secret"];

/** The form of integrations whose provider the gateway does not have. */
export const otherForm: IntegrationForm = { members: {}, required: ["key"] };
