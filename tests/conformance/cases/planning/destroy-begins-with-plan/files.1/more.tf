resource "lab_thing" "new" {
  name    = "new"
  fail_on = "plan"
}
