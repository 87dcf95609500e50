terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "t" {
 name="t"
 lifecycle { ignore_changes = [replicas[0].address] }
}
