resource "lab_thing" "t" {
  name = "t"
  lifecycle {
    ignore_changes = [endpoint, revision, size]
  }
}
