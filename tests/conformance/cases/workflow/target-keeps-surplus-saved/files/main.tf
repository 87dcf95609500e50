
variable "s" { default = 1 }
variable "n" { default = 2 }
resource "lab_thing" "t" {
  count = var.n
  name  = "t${count.index}"
  size  = var.s
}
output "n" { value = length(lab_thing.t) }
output "t" { value = try(lab_thing.t[1].size, 0) }
