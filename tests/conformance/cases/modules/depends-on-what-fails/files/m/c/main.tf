resource "terraform_data" "x" {
  lifecycle {
    precondition {
      condition = path.module != ""
      error_message = "x"
    }
  }
}
output "id" {
  value = terraform_data.x.id
}
