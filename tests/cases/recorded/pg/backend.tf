terraform {
  backend "pg" {
    schema_name = "team"
  }
}
