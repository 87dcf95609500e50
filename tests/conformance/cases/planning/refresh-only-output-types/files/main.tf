resource "lab_widget" "t" {
  title = "x"
}
locals {
  t = lab_widget.t.title
}
output "t" {
  value = lab_widget.t.title
}
output "l" {
  value = local.t
}
output "i" {
  value = "i ${lab_widget.t.title}"
}
