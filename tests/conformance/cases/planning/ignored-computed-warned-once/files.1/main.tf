resource "lab_thing" "t" {
  name  = "t"
  color = "red"
  lifecycle {
    ignore_changes = [endpoint, zone]
  }
}
