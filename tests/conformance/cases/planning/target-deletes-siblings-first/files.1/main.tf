
variable "s" {
  type    = number
  default = 1
}
resource "lab_thing" "t" {
  count = 1
  name  = "t${count.index}"
  size  = var.s

}
resource "lab_widget" "w" { title = "w${lab_thing.t[0].size}" }
