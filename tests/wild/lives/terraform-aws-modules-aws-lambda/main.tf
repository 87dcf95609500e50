# As examples/complete, without packages that a script builds.
module "function" {
  source = "../.."

  function_name          = "weft-wild"
  description            = "One of ours"
  handler                = "index.lambda_handler"
  runtime                = "python3.12"
  publish                = true
  create_package         = false
  local_existing_package = "${path.module}/../../examples/fixtures/python-zip/existing_package.zip"
  timeout                = 60

  environment_variables = {
    Hello = "World"
  }

  cloudwatch_logs_retention_in_days = 7

  attach_policy_statements = true
  policy_statements = {
    dynamodb = {
      effect    = "Allow"
      actions   = ["dynamodb:BatchWriteItem"]
      resources = ["arn:aws:dynamodb:eu-west-1:052212379155:table/Test"]
    }
    s3_read = {
      effect    = "Deny"
      actions   = ["s3:HeadObject", "s3:GetObject"]
      resources = ["arn:aws:s3:::my-bucket/*"]
    }
  }

  attach_policy_json = true
  policy_json = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["xray:GetSamplingStatisticSummaries"]
      Resource = ["*"]
    }]
  })

  allowed_triggers = {
    AllowExecutionFromS3 = {
      service    = "s3"
      source_arn = "arn:aws:s3:::my-bucket"
    }
  }

  tags = {
    Module = "lambda"
  }
}

module "alias" {
  source = "../../modules/alias"

  name             = "current"
  function_name    = module.function.lambda_function_name
  function_version = module.function.lambda_function_version
}

module "off" {
  source = "../.."
  create = false
}

output "function" {
  value = module.function
}
