import { Button, Group, Stack } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { send } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import type { Row } from "@/lib/read.ts";
import { saveAs } from "@/lib/save.ts";
import { text } from "@/text/text.ts";

interface DownloadProps {
  readonly path: string;
  readonly file: string;
  readonly disabled?: boolean;
}

/** A button that reads a route with the session and saves what it answers. */
function Download({ path, file, disabled = false }: DownloadProps): ReactNode {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const response = await send("GET", path);
      saveAs(file, await response.blob());
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack gap="sm">
      <Group>
        <Button
          variant="default"
          disabled={disabled}
          loading={busy}
          onClick={() => void run()}
          leftSection={<Icon name="down" size={14} />}
        >
          {text.resources.exports.download}
        </Button>
      </Group>
      {error !== undefined && <Failure error={error} />}
    </Stack>
  );
}

interface SectionProps {
  readonly record: Row;
  readonly id: string;
}

export function ExportDownload({ record, id }: SectionProps): ReactNode {
  const path = `/v1/logs/exports/${encodeURIComponent(id)}/content`;
  return (
    <Download
      path={path}
      file={`export-${id}.jsonl`}
      disabled={record.status !== "success" && record.status !== "completed"}
    />
  );
}

export function FileDownload({ record, id }: SectionProps): ReactNode {
  return <Download path={`/v1/files/${encodeURIComponent(id)}/content`} file={String(record.filename ?? id)} />;
}

export function BatchDownload({ record, id }: SectionProps): ReactNode {
  const path = `/v1/batches/${encodeURIComponent(id)}/output`;
  return <Download path={path} file={`${id}-output.jsonl`} disabled={record.status !== "completed"} />;
}
