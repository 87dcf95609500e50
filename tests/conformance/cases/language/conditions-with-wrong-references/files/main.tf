resource "terraform_data" "many" {
  count = 2
}

output "o" {
  value = terraform_data.many.id

  precondition {
    condition     = terraform_data.many.id != "x"
    error_message = "at ${path.module}"
  }
}

resource "terraform_data" "r" {
  input = terraform_data.many.output

  lifecycle {
    precondition {
      condition     = can(terraform_data.many.id)
      error_message = "no"
    }
    postcondition {
      condition     = self.id != terraform_data.many.id
      error_message = "no"
    }
  }
}
