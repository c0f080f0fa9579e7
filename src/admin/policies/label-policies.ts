import type { LabelPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreatedLabelPolicy,
  CreateLabelPolicy,
  LabelPolicyList,
  LabelPolicyRecord,
  UpdateLabelPolicy,
} from "../../schemas/policies.ts";
import { defineRecord } from "../core/record.ts";
import { shownBy } from "../core/shown-row.ts";
import { findLabelPolicy, policyQuery, statusesFor, statusFilter, toStoredConditions } from "./policy-rows.ts";

const toPolicy = shownBy(LabelPolicyRecord, ({ requireLabels }: LabelPolicyRow) => ({ require_labels: requireLabels }));

const policies = defineRecord({
  tag: "Policies",
  path: "/v1/policies/labels",
  words: { one: "a policy on labels", many: "policies on labels" },
  store: "labelPolicies",
  audit: "label_policies",
  access: "policies",
  find: (call, verb) => findLabelPolicy(call, statusesFor(call, verb)),
});

/** Endpoints of policies that restrict requests to targets with some labels. */
export const labelPolicyEndpoints: readonly AdminEndpoint[] = [
  policies.list({ response: LabelPolicyList, filters: { status: statusFilter }, show: (rows) => rows.map(toPolicy) }),
  policies.create({
    body: CreateLabelPolicy,
    response: CreatedLabelPolicy,
    async decide({ body }, { id }) {
      const { name = null, description = null, require_labels: requireLabels } = body;
      const conditions = toStoredConditions(body.conditions);
      const status = "active" as const;
      return {
        answer: { id, object: "policy_labels" as const },
        columns: { name, description, conditions, requireLabels, status },
      };
    },
  }),
  policies.show({ query: policyQuery, response: LabelPolicyRecord, show: ({ row }) => toPolicy(row) }),
  policies.change({
    body: UpdateLabelPolicy,
    response: NoContent,
    async decide({ body }) {
      const { name, description, status, require_labels: requireLabels } = body;
      const conditions = body.conditions && toStoredConditions(body.conditions);
      return { answer: {}, columns: { name, description, conditions, requireLabels, status } };
    },
  }),
  policies.remove({ archives: { status: "archived" } }),
];
