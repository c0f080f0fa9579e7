import { Alert, Button, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Icon } from "@/components/icons.tsx";
import { text } from "@/text/text.ts";
import { useSession } from "./context.tsx";
import type { Obstacle } from "./inference.ts";

/** Says what to do before a model can be called; nothing where that needs nothing. */
export function ObstacleNotice({ obstacle }: { readonly obstacle: Obstacle | undefined }): ReactNode {
  const { can } = useSession();
  if (obstacle === undefined) return null;
  return (
    <Alert className="notice" icon={<Icon name="warning" />} title={obstacle.title}>
      <Stack gap="xs" align="start">
        <Text size="sm">{obstacle.hint}</Text>
        {obstacle.needsKey && can("POST /v1/api-keys/workspace/service") && (
          <Button component={Link} to="/api-keys/new" variant="default">
            {text.resources.keys.create}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
