resource "terraform_data" "x" {
  input = "i"
}

output "o" {
  value = terraform_data.x.output
}

output "s" {
  value = "s"
}
