import { Modal, SegmentedControl, Stack, Text } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { gatewayUrl } from "@/api/base.ts";
import { BigText } from "@/components/big-text.tsx";
import { Command } from "@/components/states.tsx";
import type { CodeKind } from "@/lib/request-code.ts";
import { text } from "@/text/text.ts";
import { type LoggedRequest, toCode } from "./code.ts";
import type { LogRow } from "./row.ts";

const words = text.logs.code;

const files = { curl: "request.sh", typescript: "request.ts", python: "request.py" } as const;

const kinds = Object.keys(files) as CodeKind[]; // its own keys

/** Longest code that is drawn as a whole. */
const shownCode = 20_000;

function requestOf({ path, method, request }: LogRow): LoggedRequest {
  if (request === undefined) return { path, method };
  return { path, method, request: { gatewayHeaders: request.gatewayHeaders, body: request.body } };
}

/** The row's request as code to copy. */
export function CodeDialog({ row, onClose }: { readonly row: LogRow; readonly onClose: () => void }): ReactNode {
  const [kind, setKind] = useState<CodeKind>("curl");
  const code = useMemo(() => toCode(kind, requestOf(row), gatewayUrl), [kind, row]);
  return (
    <Modal
      opened
      onClose={onClose}
      title={words.title}
      size="xl"
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <Stack gap="sm">
        <SegmentedControl
          aria-label={words.language}
          value={kind}
          onChange={(value) => setKind(kinds.find((one) => one === value) ?? "curl")}
          data={kinds.map((value) => ({ value, label: words.kinds[value] }))}
        />
        <Text size="sm" c="dimmed">
          {words.hint}
        </Text>
        {code.length > shownCode ? (
          <BigText key={kind} value={code} label={words.kinds[kind]} fileName={files[kind]} />
        ) : (
          <Command value={code} />
        )}
      </Stack>
    </Modal>
  );
}
