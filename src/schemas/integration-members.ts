import * as v from "valibot";

/** One field of an integration's `configurations`, by its path. */
export interface ConfigurationMember {
  schema: v.GenericSchema;
  /** It is sealed and shown masked. */
  secret?: true;
  /** It determines where requests go. */
  shapesAddress?: true;
  /** An address the gateway will call: a base address, or a complete URL. */
  address?: "base" | "url";
}

/** Fields of `configurations` for integrations of one provider, besides the common ones. */
export interface IntegrationForm {
  members: Readonly<Record<string, ConfigurationMember>>;
  /** Required paths; `key` is the integration's key. */
  required: readonly string[];
  /** Further required fields, by the value of one field; `absent` if it is missing. */
  choice?: {
    member: string;
    required: Readonly<Record<string, readonly string[]>>;
    absent: readonly string[];
  };
}

/** A string that is not empty. */
export const PlainText = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.check((value) => !value.includes("\0"), "must not contain the character U+0000"),
);

const text = (maximum: number) => v.pipe(PlainText, v.maxLength(maximum, `must have at most ${maximum} characters`));

const plain: ConfigurationMember = { schema: text(1024) };

/** Fields of every integration, whatever its provider. Header values in `custom_headers` are validated separately. */
export const commonMembers: Readonly<Record<string, ConfigurationMember>> = {
  custom_host: { schema: text(2048), address: "base" },
  "oauth.token_url": { schema: text(2048), address: "url" },
  "oauth.client_id": plain,
  "oauth.client_secret": { schema: text(16_384), secret: true },
  "oauth.scope": plain,
  "oauth.audience": plain,
  "oauth.auth_method": { schema: v.picklist(["basic", "post"], "must be one of basic, post") },
};

/** Required fields of `oauth`. */
export const requiredOfOauth: readonly string[] = ["oauth.token_url", "oauth.client_id", "oauth.client_secret"];

/** Fields of integrations whose provider is not built in. */
export const otherForm: IntegrationForm = { members: {}, required: ["key"] };
