// Stands where a figure was not recorded, which is not the same as zero.

export function NotRecorded({ reason = "not recorded" }: { reason?: string }) {
  return (
    <span class="not-recorded" title={reason}>
      <span aria-hidden="true">–</span>
      <span class="unseen">{reason}</span>
    </span>
  );
}
