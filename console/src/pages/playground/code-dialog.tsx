import { Modal, Tabs } from "@mantine/core";
import type { ReactNode } from "react";
import { gatewayUrl } from "@/api/base.ts";
import type { ModelRequest } from "@/chat/run.ts";
import { Command, Failure } from "@/components/states.tsx";
import { type CodeKind, type SentRequest, writeCode } from "@/lib/request-code.ts";
import { text } from "@/text/text.ts";

const words = text.playground;

const languages: readonly CodeKind[] = ["curl", "typescript", "python"];

function toSent({ path, headers, body }: ModelRequest): SentRequest {
  return { origin: gatewayUrl, path, method: "POST", headers: Object.entries(headers), body };
}

interface CodeDialogProps {
  readonly read: () => ModelRequest;
  readonly onClose: () => void;
}

/** The request of a column as code; the key stays a variable. */
export function CodeDialog({ read, onClose }: CodeDialogProps): ReactNode {
  let request: ModelRequest | undefined;
  let failure: unknown;
  try {
    request = read();
  } catch (error) {
    failure = error;
  }
  return (
    <Modal opened onClose={onClose} title={words.code} size="xl" closeButtonProps={{ "aria-label": text.common.close }}>
      {request === undefined ? (
        <Failure error={failure} />
      ) : (
        <Tabs defaultValue="curl">
          <Tabs.List mb="sm">
            {languages.map((language) => (
              <Tabs.Tab key={language} value={language}>
                {words.languages[language]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {languages.map((language) => (
            <Tabs.Panel key={language} value={language}>
              <Command value={writeCode(language, toSent(request))} />
            </Tabs.Panel>
          ))}
        </Tabs>
      )}
    </Modal>
  );
}
