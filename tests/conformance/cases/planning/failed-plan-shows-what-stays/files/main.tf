variable "n" {
  type    = number
  default = 1
}

output "fixed" {
  value = 1
}

output "n" {
  value = var.n
}
