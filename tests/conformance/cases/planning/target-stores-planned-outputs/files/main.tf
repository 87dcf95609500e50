
variable "s" {
  type    = number
  default = 1
}
resource "lab_thing" "t" {
  count = 2
  name  = "t"
  size  = var.s
}
resource "lab_widget" "w" { title = "w${lab_thing.t[0].size}" }

output "t" { value = lab_thing.t[*].size }
output "t0" { value = lab_thing.t[0].size }
output "t1" { value = lab_thing.t[1].size }
output "rev1" { value = lab_thing.t[1].revision }
