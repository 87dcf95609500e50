variable "x" {
  type    = string
  default = "d"
}

variable "n" {
  type    = number
  default = 1
}

output "x" {
  value = var.x
}

output "n" {
  value = var.n
}
